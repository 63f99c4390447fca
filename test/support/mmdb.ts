/** Record of a network such as `198.41.0.0/16` in a test database. */
export type MmdbEntry = { net: string; record: object };

/**
 * Builds a MaxMind database of IPv4 networks according to its documented format: a tree of 24-bit records, the data,
 * and the metadata.
 */
export function buildMmdb(databaseType: string, entries: readonly MmdbEntry[]): Buffer {
  const nodes: [Branch, Branch][] = [[null, null]];
  let data = Buffer.alloc(0);
  for (const { net, record } of entries) {
    const [address = '', length = '32'] = net.split('/');
    const bits = address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
      .slice(0, Number(length));
    let node = 0;
    [...bits].forEach((bit, depth) => {
      const branches = nodes[node] as [Branch, Branch];
      const side = Number(bit) as 0 | 1;
      if (depth === bits.length - 1) branches[side] = { data: data.length };
      else {
        const next = branches[side];
        if (next === null) branches[side] = { node: nodes.push([null, null]) - 1 };
        node = (branches[side] as { node: number }).node;
      }
    });
    data = Buffer.concat([data, encode(record)]);
  }
  const tree = Buffer.alloc(nodes.length * 6);
  nodes.forEach((branches, index) => {
    branches.forEach((branch, side) => {
      const value = branch === null ? nodes.length : 'node' in branch ? branch.node : nodes.length + 16 + branch.data;
      tree.writeUIntBE(value, index * 6 + side * 3, 3);
    });
  });
  const about = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1,
    database_type: databaseType,
    ip_version: 4,
    node_count: nodes.length,
    record_size: 24,
  };
  return Buffer.concat([tree, Buffer.alloc(16), data, Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'), encode(about)]);
}

type Branch = { node: number } | { data: number } | null;

function encode(value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(6, 4), bytes]);
  }
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)]);
  const fields = Object.entries(value as object);
  return Buffer.concat([control(7, fields.length), ...fields.flatMap(([key, field]) => [encode(key), encode(field)])]);
}

/** Encodes the type and size of a value. Supports only sizes below 29. */
const control = (type: number, size: number): Buffer =>
  type <= 7 ? Buffer.from([(type << 5) | size]) : Buffer.from([size, type - 7]);
