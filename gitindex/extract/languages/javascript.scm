; include ecma
(field_definition property: (_)) @def.field
