(class name: (_)) @def.class
(module name: (_)) @def.module
(method) @def.function
(singleton_method) @def.method
(program (assignment left: (constant)) @def.constant)
(body_statement (assignment left: (constant)) @def.constant)

(comment) @comment
(call method: (identifier) @_require !receiver (#any-of? @_require "require" "require_relative" "load" "autoload")) @import
(call method: (identifier)) @invoke
(call method: (constant)) @invoke
[(identifier) (constant) (instance_variable) (class_variable) (global_variable) (hash_key_symbol)] @id
