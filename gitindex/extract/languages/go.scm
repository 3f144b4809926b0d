(function_declaration) @def.function
(method_declaration) @def.method
(type_spec type: (struct_type)) @def.struct
(type_spec type: (interface_type)) @def.interface
(type_spec) @def.type
(type_alias) @def.type
(method_elem) @def.method
(field_declaration name: (_)) @def.field
(source_file (const_declaration (const_spec) @def.constant))
(source_file (var_declaration (var_spec) @def.variable))
(source_file (var_declaration (var_spec_list (var_spec) @def.variable)))

(comment) @comment
(import_spec) @import
(call_expression function: [(identifier) (selector_expression)] @call)
(call_expression function: (index_expression operand: [(identifier) (selector_expression)] @call))
[(identifier) (type_identifier) (field_identifier) (package_identifier) (label_name)] @id
