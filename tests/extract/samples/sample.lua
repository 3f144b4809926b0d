-- Shop.
local json = require("json")
local util = require 'shop.util'

local M = {}
M.limit = 10
LIMIT = 3

--- Adds two numbers.
-- @param a first
function M.add(a, b)
  return a + b
end

function M:push(item)
  table.insert(self.items, item)
  return self:size() + M.add(1, 2)
end

local function hidden(...)
  return print(...)
end

M.walk = function(x) return hidden(x) end
return M
