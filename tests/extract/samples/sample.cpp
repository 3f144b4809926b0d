#include <vector>
using namespace std;
using shop::Item;

namespace shop {

/// A cart.
template <typename T>
class Cart : public Base<T> {
public:
    explicit Cart(int limit) : limit_(limit) {}
    ~Cart();
    virtual int total() const override;
    bool operator==(const Cart &other) const { return true; }
    int limit_ = 0;
    static const int kMax = 3;
private:
    enum class Size { Small, Large };
};

struct Point { int x, y; };
using Names = std::vector<std::string>;
constexpr int LIMIT = 10;

}  // namespace shop

// Sums up.
int shop::Cart::total() const {
    auto f = [](int x) { return x; };
    return std::accumulate(items.begin(), items->end(), make<int>(0)) + f(limit_) + Widget{}.size();
}

template <class T> T twice(T x) { return *new Box<T>(x); }
int main() { return twice(2); }
