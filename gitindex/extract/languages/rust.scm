(function_item) @def.function
(function_signature_item) @def.function
(struct_item) @def.struct
(union_item) @def.struct
(enum_item) @def.enum
(enum_variant) @def.constant
(trait_item) @def.trait
(type_item) @def.type
(associated_type) @def.type
(const_item) @def.constant
(static_item) @def.variable
(macro_definition) @def.macro
(mod_item) @def.module
(field_declaration) @def.field
(impl_item) @scope.type

[(line_comment) (block_comment)] @comment
(attribute_item) @lead
[(use_declaration) (extern_crate_declaration)] @import
(call_expression function: [(identifier) (field_expression) (scoped_identifier)] @call)
(call_expression function: (generic_function function: (_) @call))
(macro_invocation macro: [(identifier) (scoped_identifier)] @call)
[(identifier) (type_identifier) (field_identifier) (shorthand_field_identifier)] @id
