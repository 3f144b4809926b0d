using System;
using static System.Math;
using Json = Newtonsoft.Json;

namespace Shop.Model;

/// <summary>A cart.</summary>
[Serializable]
public class Cart<T> : Base, IEnumerable<T> where T : class
{
    public const int Limit = 10;
    private readonly List<T> items = new List<T>();

    public string Owner { get; set; }
    public event EventHandler Changed;

    public Cart(string owner) : base(owner) { }

    public async Task<int> AddAsync(T item, int count = 1)
    {
        items.Add(item);
        return await this.store.Save<int>(item) ?? Max(1, nameof(item).Length);
    }

    public int this[int i] => 0;
    public static Cart<T> operator +(Cart<T> a, Cart<T> b) => a;
}

public interface IPrice { decimal Price(int scale); }
public struct Point { public int X; }
public record Person(string Name);
public enum Size { Small, Large = 3 }
public delegate void Visit(int x);
