(class_declaration) @def.class
(interface_declaration) @def.interface
(trait_declaration) @def.trait
(enum_declaration) @def.enum
(enum_case) @def.constant
(function_definition) @def.function
(method_declaration) @def.method
(property_element) @def.field
(const_element) @def.constant

(comment) @comment
(attribute_list) @lead
[(namespace_use_declaration) (require_expression) (require_once_expression) (include_expression) (include_once_expression)] @import
(function_call_expression function: [(name) (qualified_name)] @call)
(member_call_expression) @invoke
(nullsafe_member_call_expression) @invoke
(scoped_call_expression) @invoke
(object_creation_expression [(name) (qualified_name)] @call)
(name) @id
