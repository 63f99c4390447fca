import { bodyOf, httpReceiver } from '../../webhooks/dispatcher/send/receivers.ts';

/** A span as received by a collector. IDs are in hex. `parentId` is '' for the root span. */
export type ReceivedSpan = {
  traceId: string;
  id: string;
  parentId: string;
  name: string;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, string | number>;
  failed: boolean;
};

export type Collector = { endpoint: string; spans: ReceivedSpan[]; headers: object[]; close: () => Promise<void> };

/** Starts an OTLP/HTTP collector that accepts protobuf and responds as the protocol requires. */
export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const headers: object[] = [];
  const receiver = await httpReceiver(async (request, response) => {
    const body = await bodyOf(request);
    headers.push(request.headers);
    const isTraces = request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf';
    if (isTraces) spans.push(...spansOf(body));
    response.writeHead(isTraces ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end();
  });
  return { endpoint: `http://127.0.0.1:${receiver.port}`, spans, headers, close: receiver.close };
}

type Field = { number: number; value: bigint | Buffer };

/** Returns the fields of a protobuf message, in order. */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const type = tag & 7;
    const value =
      type === 0
        ? varint()
        : type === 1
          ? bytes(8).readBigUInt64LE()
          : type === 5
            ? BigInt(bytes(4).readUInt32LE())
            : bytes(Number(varint()));
    fields.push({ number: tag >> 3, value });
  }
  return fields;
}

const all = (message: Buffer, number: number): Buffer[] =>
  fieldsOf(message).flatMap((field) => (field.number === number ? [field.value as Buffer] : []));
const bytesOf = (message: Buffer, number: number): Buffer => all(message, number)[0] ?? Buffer.alloc(0);
const numberOf = (message: Buffer, number: number): bigint =>
  BigInt((fieldsOf(message).find((field) => field.number === number)?.value as bigint | undefined) ?? 0n);

/** ExportTraceServiceRequest → ResourceSpans → ScopeSpans → Span. */
const spansOf = (body: Buffer): ReceivedSpan[] =>
  all(body, 1).flatMap((resource) => all(resource, 2).flatMap((scope) => all(scope, 2).map(spanOf)));

const spanOf = (span: Buffer): ReceivedSpan => ({
  traceId: bytesOf(span, 1).toString('hex'),
  id: bytesOf(span, 2).toString('hex'),
  parentId: bytesOf(span, 4).toString('hex'),
  name: bytesOf(span, 5).toString(),
  startNs: numberOf(span, 7),
  endNs: numberOf(span, 8),
  attributes: Object.fromEntries(
    all(span, 9).map((pair) => [bytesOf(pair, 1).toString(), attributeOf(bytesOf(pair, 2))]),
  ),
  failed: numberOf(bytesOf(span, 15), 3) === 2n,
});

/** Decodes an AnyValue that is a string, a boolean, an integer or a double. */
function attributeOf(any: Buffer): string | number {
  const [field] = fieldsOf(any);
  if (field === undefined) return '';
  if (field.number === 1) return (field.value as Buffer).toString();
  if (field.number !== 4) return Number(field.value);
  const double = Buffer.alloc(8);
  double.writeBigUInt64LE(field.value as bigint);
  return double.readDoubleLE();
}
