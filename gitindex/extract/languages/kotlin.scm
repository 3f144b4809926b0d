(class_declaration "interface") @def.interface
(class_declaration "enum") @def.enum
(class_declaration "class") @def.class
(object_declaration) @def.class
(companion_object) @scope
(enum_entry) @def.constant
(function_declaration) @def.function
(secondary_constructor) @def.method
(type_alias) @def.type
(source_file (property_declaration) @def.variable)
(class_body (property_declaration) @def.field)

[(line_comment) (multiline_comment)] @comment
(import_header) @import
(call_expression . [(simple_identifier) (navigation_expression)] @call)
[(simple_identifier) (type_identifier)] @id
