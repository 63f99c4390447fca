import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { createServer as createTlsServer } from 'node:tls';
import { endChild } from './server-process.ts';

/*
 * Kafka cluster in this process. It speaks the part of the protocol that producers need, keeps records in memory and
 * deduplicates sequence numbers like a broker. Tests with kcat compare it with librdkafka, where kcat is installed.
 */

type StoredRecord = {
  partition: number;
  offset: number;
  key: string;
  value: string;
  headers: Record<string, string>;
  timestampMs: number;
};

/** Record that a producer sends. `size` is that of its batch, in bytes. */
type Produce = { node: number; partition: number; sequence: number; size: number };

/** Reaction to a record: an error code, or a fault. Null stores the record. */
type Reaction = number | 'hang' | 'close' | 'store and close' | null;

type User = { mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'; name: string; password: string };

type KafkaOptions = {
  size?: number;
  partitions?: number;
  user?: User;
  tls?: { cert: string; key: string };
  /** Host and port that the cluster announces for a broker. */
  announce?: (port: number) => readonly [host: string, port: number];
  /** Error code for requests for a producer ID. */
  producerCode?: number;
  sessionLifetimeMs?: number;
};

/** Only topic of the cluster. */
export const topic = 'orders';

export async function startKafka(options: KafkaOptions = {}) {
  const { size = 1, partitions = 4, announce = (port) => ['127.0.0.1', port] } = options;
  const nodes: { server: Server; port: number; sockets: Set<Socket> }[] = [];
  const records: StoredRecord[] = [];
  const nextSequences = new Map<string, number>();
  const cluster = {
    records,
    /** Number of requests by API key. */
    requests: new Map<number, number>(),
    /** Leader of each partition, as the index of a broker. */
    leaders: Array.from({ length: partitions }, (_, partition) => partition % size),
    react: (_produce: Produce): Reaction => null,
    servers: '',
    connections: () => nodes.reduce((sum, { sockets }) => sum + sockets.size, 0),
    /** Stops a broker abruptly, or starts it again on its port. */
    stop: async (index: number): Promise<void> => {
      const { server, sockets } = nodes[index] as (typeof nodes)[number];
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
    start: async (index: number): Promise<void> => {
      const { server, port } = nodes[index] as (typeof nodes)[number];
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    close: async (): Promise<void> => {
      await Promise.all(nodes.map((_, index) => cluster.stop(index)));
    },
  };

  const store = (partition: number, batch: Batch): number => {
    const key = `${batch.producerId} ${batch.epoch} ${partition}`;
    if (batch.producerId >= 0n) {
      const next = nextSequences.get(key) ?? 0;
      if (batch.sequence < next) return 46;
      if (batch.sequence > next) return 45;
      nextSequences.set(key, next + 1);
    }
    const offset = records.filter((record) => record.partition === partition).length;
    records.push({ partition, offset, ...batch.record });
    return 0;
  };

  const produce = (node: number, request: Cursor): Buffer | 'hang' | 'close' => {
    request.text();
    request.int16();
    request.int32();
    request.int32();
    const name = request.text();
    request.int32();
    const partition = request.int32();
    const size = request.int32();
    const batch = decodeBatch(request.take(size));
    const reaction = name === topic ? cluster.react({ node, partition, sequence: batch.sequence, size }) : 3;
    if (reaction === 'hang' || reaction === 'close') return reaction;
    let code = typeof reaction === 'number' ? reaction : 0;
    if (cluster.leaders[partition] !== node) code = 6;
    if (code === 0) code = store(partition, batch);
    if (reaction === 'store and close') return 'close';
    const offset = BigInt(records.findLast((record) => record.partition === partition)?.offset ?? -1);
    const result = [i32(partition), i16(code), i64(code === 0 ? offset : -1n), i64(-1n)];
    return Buffer.concat([i32(1), str(name), i32(1), ...result, i32(0)]);
  };

  const metadata = (version: number, request: Cursor): Buffer => {
    const count = request.int32();
    const names = Array.from({ length: Math.max(0, count) }, () => request.text());
    const brokers = nodes.map(({ port }, index) => {
      const [host, announcedPort] = announce(port);
      return Buffer.concat([i32(index), str(host), i32(announcedPort), ...(version >= 1 ? [str(null)] : [])]);
    });
    const topics = (count < 0 ? [topic] : names).map((name) => {
      const leaders = name === topic ? cluster.leaders : [];
      const parts = leaders.map((leader, index) =>
        Buffer.concat([i16(0), i32(index), i32(leader), i32(1), i32(leader), i32(1), i32(leader)]),
      );
      const head = [i16(name === topic ? 0 : 3), str(name), ...(version >= 1 ? [Buffer.from([0])] : [])];
      return Buffer.concat([...head, i32(parts.length), ...parts]);
    });
    return Buffer.concat([
      ...(version >= 3 ? [i32(0)] : []),
      ...[i32(brokers.length), ...brokers],
      ...(version >= 2 ? [str('test')] : []),
      ...(version >= 1 ? [i32(0)] : []),
      ...[i32(topics.length), ...topics],
    ]);
  };

  // Fetches are not answered, but librdkafka uses the current record format only if they are supported.
  const supported = [
    [0, 3, 3],
    [1, 4, 4],
    [3, 0, 4],
    [17, 0, 1],
    [18, 0, 0],
    [22, 0, 0],
    [36, 0, 1],
  ] as const;
  const apiVersions = (code: number): Buffer =>
    Buffer.concat([i16(code), i32(supported.length), ...supported.flatMap((api) => api.map(i16))]);

  const onSocket = (node: number, socket: Socket): void => {
    nodes[node]?.sockets.add(socket);
    socket.on('close', () => nodes[node]?.sockets.delete(socket));
    socket.on('error', () => {});
    const login = options.user === undefined ? null : createLogin(options.user);
    let isAllowed = login === null;
    let buffered = Buffer.alloc(0);
    const answer = (key: number, version: number, request: Cursor): Buffer | 'hang' | 'close' => {
      cluster.requests.set(key, (cluster.requests.get(key) ?? 0) + 1);
      if (key === 18) return apiVersions(version === 0 ? 0 : 35);
      if (key === 17 && login !== null) {
        const isKnown = request.text() === options.user?.mechanism;
        return Buffer.concat([i16(isKnown ? 0 : 33), i32(1), str(options.user?.mechanism ?? '')]);
      }
      if (key === 36 && login !== null) {
        const { code, bytes, isDone } = login(request.take(request.int32()));
        isAllowed ||= isDone;
        const lifetime = version >= 1 ? [i64(BigInt(options.sessionLifetimeMs ?? 0))] : [];
        return Buffer.concat([i16(code), str(code === 0 ? null : 'wrong'), i32(bytes.length), bytes, ...lifetime]);
      }
      if (!isAllowed) return 'close';
      if (key === 22) return Buffer.concat([i32(0), i16(options.producerCode ?? 0), i64(producerIds++), i16(0)]);
      if (key === 3) return metadata(version, request);
      if (key === 0) return produce(node, request);
      return 'close';
    };
    socket.on('data', (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 4 && buffered.length >= 4 + buffered.readInt32BE()) {
        const request = createCursor(buffered.subarray(4, 4 + buffered.readInt32BE()));
        buffered = buffered.subarray(4 + buffered.readInt32BE());
        const [key, version, id] = [request.int16(), request.int16(), request.int32()];
        request.text();
        const response = answer(key, version, request);
        if (response === 'close') socket.destroy();
        else if (response !== 'hang') socket.write(Buffer.concat([i32(4 + response.length), i32(id), response]));
      }
    });
  };
  let producerIds = 1n;

  for (let index = 0; index < size; index++) {
    const accept = (socket: Socket): void => onSocket(index, socket);
    const server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    nodes.push({ server, port: (server.address() as AddressInfo).port, sockets: new Set() });
  }
  cluster.servers = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return cluster;
}

export type KafkaCluster = Awaited<ReturnType<typeof startKafka>>;

type Cursor = ReturnType<typeof createCursor>;

function createCursor(data: Buffer) {
  let position = 0;
  const take = (size: number): Buffer => {
    const start = position;
    position += Math.max(0, size);
    return data.subarray(start, position);
  };
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = take(1).readUInt8();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
  };
  return {
    take,
    varint,
    int16: () => take(2).readInt16BE(),
    int32: () => take(4).readInt32BE(),
    int64: () => take(8).readBigInt64BE(),
    text: () => take(take(2).readInt16BE()).toString('utf8'),
    rest: () => data.subarray(position),
  };
}

type Batch = {
  producerId: bigint;
  epoch: number;
  sequence: number;
  record: Omit<StoredRecord, 'partition' | 'offset'>;
};

/** Decodes a batch with one record, and checks its checksum. */
function decodeBatch(data: Buffer): Batch {
  const cursor = createCursor(data);
  cursor.int64();
  if (cursor.int32() !== data.length - 12) throw new Error('wrong length of the batch');
  cursor.int32();
  if (cursor.take(1).readInt8() !== 2) throw new Error('wrong version of the batch');
  const checksum = cursor.take(4).readUInt32BE();
  if (checksum !== castagnoli(cursor.rest())) throw new Error('wrong checksum of the batch');
  cursor.int16();
  cursor.int32();
  const timestampMs = Number(cursor.int64());
  cursor.int64();
  const [producerId, epoch, sequence] = [cursor.int64(), cursor.int16(), cursor.int32()];
  if (cursor.int32() !== 1) throw new Error('more than one record');
  const sized = (): string => cursor.take(cursor.varint()).toString('utf8');
  cursor.varint();
  cursor.take(1);
  cursor.varint();
  cursor.varint();
  const [key, value] = [sized(), sized()];
  const headers = Object.fromEntries(Array.from({ length: cursor.varint() }, () => [sized(), sized()]));
  if (cursor.rest().length > 0) throw new Error('bytes after the record');
  return { producerId, epoch, sequence, record: { key, value, headers, timestampMs } };
}

/** CRC-32C, bit by bit. */
function castagnoli(data: Buffer): number {
  let remainder = 0xffffffff;
  for (const byte of data) {
    remainder ^= byte;
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (0x82f63b78 & -(remainder & 1));
  }
  return ~remainder >>> 0;
}

const i16 = (value: number): Buffer => Buffer.from([(value >> 8) & 0xff, value & 0xff]);
const i32 = (value: number): Buffer => Buffer.concat([i16(value >> 16), i16(value)]);
const i64 = (value: bigint): Buffer =>
  Buffer.concat([i32(Number(BigInt.asIntN(32, value >> 32n))), i32(Number(BigInt.asIntN(32, value)))]);
const str = (value: string | null): Buffer =>
  value === null ? i16(-1) : Buffer.concat([i16(Buffer.byteLength(value)), Buffer.from(value)]);

type LoginStep = { code: number; bytes: Buffer; isDone: boolean };

/** Creates the server side of a login with PLAIN or SCRAM. */
function createLogin({ mechanism, name, password }: User): (message: Buffer) => LoginStep {
  const refused = { code: 58, bytes: Buffer.alloc(0), isDone: false };
  if (mechanism === 'PLAIN')
    return (message) =>
      message.toString() === `\0${name}\0${password}` ? { code: 0, bytes: Buffer.alloc(0), isDone: true } : refused;
  const hashName = mechanism === 'SCRAM-SHA-256' ? 'sha256' : 'sha512';
  const bits = hashName === 'sha256' ? 32 : 64;
  const hmac = (key: Buffer, text: string): Buffer => createHmac(hashName, key).update(text).digest();
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, 4096, bits, hashName);
  let first = '';
  let serverFirst = '';
  return (message) => {
    const text = message.toString();
    if (first === '') {
      first = text.replace(/^n,[^,]*,/, '');
      if (first.split(',')[0] !== `n=${name}`) return refused;
      serverFirst = `r=${/r=([^,]+)/.exec(first)?.[1]}server,s=${salt.toString('base64')},i=4096`;
      return { code: 0, bytes: Buffer.from(serverFirst), isDone: false };
    }
    const withoutProof = text.replace(/,p=.*$/, '');
    const messages = [first, serverFirst, withoutProof].join(',');
    const clientKey = hmac(salted, 'Client Key');
    const signature = hmac(createHash(hashName).update(clientKey).digest(), messages);
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] as number)));
    if (text !== `${withoutProof},p=${proof.toString('base64')}`) return refused;
    const bytes = Buffer.from(`v=${hmac(hmac(salted, 'Server Key'), messages).toString('base64')}`);
    return { code: 0, bytes, isDone: true };
  };
}

/** Whether Debian's `kcat` is installed, a program with the Kafka library librdkafka. */
export const hasKcat = ((): boolean => {
  try {
    execFileSync('kcat', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Record as kcat prints it. */
type KcatRecord = {
  partition: number;
  offset: number;
  ts: number;
  key: string;
  payload: string;
  headers: string[];
};

/** Starts kcat as a mock cluster of librdkafka, and as a consumer that reads all records of the topic. */
export async function startKcat(brokers = 2) {
  const mock = ['-X', `test.mock.num.brokers=${brokers}`, '-X', 'check.crcs=true'];
  const args = ['-b', 'mock', ...mock, '-C', '-t', topic, '-J', '-u', '-o', 'beginning'];
  const child: ChildProcess = spawn('kcat', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const records: KcatRecord[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) =>
    records.push(JSON.parse(line)),
  );
  const servers = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      const text = / replaced with (\S+)$/.exec(line)?.[1];
      if (text !== undefined) resolve(text);
    });
    child.once('exit', () => reject(new Error('kcat has ended')));
  });
  return { servers, records, close: () => endChild(child, 'SIGKILL') };
}

/** Sends one record with kcat, and returns what it prints. */
export async function produceWithKcat(servers: string, args: readonly string[], key: string, value: string) {
  const child = spawn('kcat', ['-b', servers, '-P', '-t', topic, '-k', key, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  child.stdin.end(value);
  const [code] = await once(child, 'exit');
  return { code: Number(code), output };
}
