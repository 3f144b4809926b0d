(pair key: (_)) @pair
