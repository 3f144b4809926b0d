(function_definition) @def.function
(struct_specifier name: (_) body: (_)) @def.struct
(union_specifier name: (_) body: (_)) @def.struct
(enum_specifier name: (_) body: (_)) @def.enum
(enumerator) @def.constant
(preproc_def) @def.macro
(preproc_function_def) @def.macro
(type_definition declarator: (_) @def.type)
(field_declaration declarator: [(field_identifier) (pointer_declarator) (array_declarator)]) @def.field
(translation_unit (declaration declarator: [(init_declarator) (identifier) (pointer_declarator) (array_declarator)]) @def.variable)
(translation_unit (declaration declarator: (function_declarator)) @def.function)

(comment) @comment
(preproc_include) @import
(call_expression function: [(identifier) (field_expression)] @call)
[(identifier) (type_identifier) (field_identifier) (statement_identifier)] @id
