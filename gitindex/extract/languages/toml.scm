[(pair) (table) (table_array_element)] @pair
