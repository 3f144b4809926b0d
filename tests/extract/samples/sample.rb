# Shop things.
require "json"
require_relative 'item'

module Shop
  LIMIT = 10

  # A cart.
  class Cart < Base
    include Comparable
    attr_reader :owner, :items

    def initialize(owner, limit: LIMIT)
      @owner = owner
      super(owner)
    end

    # Any items?
    def empty?
      items.all?(&:gone?)
    end

    def self.load(path)
      JSON.parse(File.read(path)).each { |x| puts(x) }
    end

    def ==(other) = other.owner == owner
  end

  class << self
    def open(name) = Cart.new(name)
  end
end
