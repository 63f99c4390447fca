type MapLike<Key, Value> = { get: (key: Key) => Value | undefined; set: (key: Key, value: Value) => unknown };

/** What a map holds under a key, made and kept where it holds nothing. */
export function getOrInsert<Key, Value>(map: MapLike<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
