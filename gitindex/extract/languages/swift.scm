(class_declaration "extension") @scope.name
(class_declaration "struct") @def.struct
(class_declaration "enum") @def.enum
(class_declaration "class") @def.class
(class_declaration "actor") @def.class
(protocol_declaration) @def.interface
(function_declaration) @def.function
(protocol_function_declaration) @def.method
(init_declaration) @def.method
(typealias_declaration) @def.type
(enum_entry name: (simple_identifier) @def.constant)
(source_file (property_declaration) @def.variable)
(class_body (property_declaration) @def.field)
(protocol_property_declaration) @def.field

[(comment) (multiline_comment)] @comment
(import_declaration) @import
(call_expression . [(simple_identifier) (navigation_expression)] @call)
[(simple_identifier) (type_identifier)] @id
