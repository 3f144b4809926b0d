(class_definition) @def.class
(object_definition) @def.class
(trait_definition) @def.trait
(enum_definition) @def.enum
(simple_enum_case) @def.constant
(full_enum_case) @def.constant
(type_definition) @def.type
(function_definition) @def.function
(function_declaration) @def.function
(template_body (val_definition pattern: (identifier)) @def.field)
(template_body (var_definition pattern: (identifier)) @def.field)
(compilation_unit (val_definition pattern: (identifier)) @def.variable)
(compilation_unit (var_definition pattern: (identifier)) @def.variable)

[(comment) (block_comment)] @comment
(import_declaration) @import
(call_expression function: [(identifier) (field_expression)] @call)
(call_expression function: (generic_function function: (_) @call))
(instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)] @call)
[(identifier) (type_identifier)] @id
