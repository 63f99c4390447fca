import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { transaction } from '../../src/platform/db/pool.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { enqueue } from '../../src/webhooks/outbox.ts';
import { clonePool } from '../support/database.ts';
import { startKafka, topic } from '../support/kafka.ts';
import { hasNats, type NatsServers, startNats } from '../support/nats.ts';
import { freePort, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';

const kills = Number(process.env.KILLS ?? 3);
/** Maximum time that the load runs before a kill, in milliseconds. */
const longestRunMs = 400;
/** Pause between events, and before a call that failed is repeated, in milliseconds. */
const pauseMs = 15;
const hourNs = 3_600_000_000_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the IDs of all messages in the stream. */
async function storedIds({ url }: NatsServers): Promise<string[]> {
  const connection = await connect({ servers: url });
  const { state } = await (await jetstreamManager(connection)).streams.info('ORDERS');
  const stream = await jetstream(connection).streams.get('ORDERS');
  const ids: string[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++)
    ids.push((await stream.getMessage({ seq }))?.header?.get('webhook-id') ?? '');
  await connection.close();
  return ids;
}

// The test kills and restarts processes under load. In every second round, it also kills the NATS server and a Kafka
// broker.
test.skipIf(!hasNats)(
  `no event for NATS, Kafka or a pull endpoint is lost in ${kills} kills`,
  {
    timeout: timeLimit(90_000 + kills * 20_000),
  },
  async () => {
    const draw = createRandom(7);
    const { url: databaseUrl, pool, close } = await clonePool(2);
    const [nats, kafka] = await Promise.all([startNats(), startKafka({ size: 2 })]);
    const setUp = await connect({ servers: nats.url });
    // The window for duplicates is longer than the test, however slow the machine is.
    const stream = { name: 'ORDERS', subjects: ['orders'], duplicate_window: hourNs };
    await (await jetstreamManager(setUp)).streams.add(stream);
    await setUp.close();
    const port = await freePort();
    let server: ServerProcess = await startServerProcess({ databaseUrl, port });

    /** Calls the API. Returns null if the process was killed meanwhile. */
    const call = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`http://127.0.0.1:${port}/manage/v1${path}`, {
        method,
        headers: { authorization: 'Bearer demo-key', 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }).catch(() => null);
      const text = await answer?.text().catch(() => null);
      if (answer && text && answer.status < 500) expect(answer.status, text).toBeLessThan(300);
      return answer?.ok === true && text ? JSON.parse(text).data : null;
    };
    const address = nats.url.replace('nats://', '');
    const common = { events: ['offer_saved'], retry_steps_s: Array(20).fill(0), max_in_flight: 10 };
    const broker = { kind: 'nats', address, subject: 'orders', tls: false };
    const { id: brokerId } = await call('POST', '/webhook-endpoints', { ...common, destination: broker });
    const cluster = { kind: 'kafka', brokers: kafka.servers, topic, tls: false };
    const { id: kafkaId } = await call('POST', '/webhook-endpoints', { ...common, destination: cluster });
    const { id: pullId } = await call('POST', '/webhook-endpoints', { ...common, destination: { kind: 'pull' } });
    const endpointIds = [brokerId, kafkaId, pullId];
    const { rows } = await pool.query('select publisher_id as "publisherId" from webhook_endpoints where id = $1', [
      pullId,
    ]);

    const expected: Record<number, string[]> = Object.fromEntries(endpointIds.map((id) => [id, []]));
    const pulled: string[] = [];
    let isProducing = true;
    const produce = async (): Promise<void> => {
      const fields = { ...rows[0], event: 'offer_saved', sessionId: null, pubUserId: null, dev: false };
      while (isProducing) {
        const event = { ...fields, nowMs: Date.now(), payload: () => Buffer.from('{"n":1}') };
        const ids = await transaction(pool, (executor) =>
          enqueue(
            executor,
            endpointIds.map((id) => ({ ...event, onlyEndpointIds: [id] })),
          ),
        );
        for (const [index, id] of endpointIds.entries()) expected[id]?.push(`msg_${ids[index]?.replaceAll('-', '')}`);
        await pause(pauseMs);
      }
    };
    const isPulled = (): boolean => !isProducing && new Set(pulled).size >= (expected[pullId]?.length ?? 0);
    const consume = async (): Promise<void> => {
      let cursor: string | null = null;
      while (cursor === null || !isPulled()) {
        const after: string = cursor === null ? '' : `&after=${cursor}`;
        const page = await call('GET', `/events?endpoint=${pullId}&limit=20&wait=1${after}`);
        if (page === null) await pause(pauseMs);
        else cursor = page.cursor ?? cursor;
        for (const { webhook_id: id } of page?.events ?? []) pulled.push(id);
      }
      await expect.poll(() => call('GET', `/events?endpoint=${pullId}&after=${cursor}`)).toMatchObject({ events: [] });
    };
    const work = Promise.all([produce(), consume()]);

    for (let kill = 0; kill < kills; kill++) {
      const [produced, pulledCount] = [expected[pullId]?.length ?? 0, pulled.length];
      await expect.poll(() => expected[pullId]?.length, { timeout: timeLimit(30_000) }).toBeGreaterThan(produced + 5);
      await expect.poll(() => pulled.length, { timeout: timeLimit(30_000) }).toBeGreaterThan(pulledCount + 5);
      await pause(draw() * longestRunMs);
      await Promise.all([server.kill(), kill % 2 === 1 && Promise.all([nats.kill(0), kafka.stop(0)])]);
      if (kill % 2 === 1) await Promise.all([nats.start(0), kafka.start(0)]);
      server = await startServerProcess({ databaseUrl, port });
    }
    isProducing = false;
    await work;
    // Kills open the circuit breaker. A retry by hand ends its wait.
    await expect
      .poll(
        async () => {
          for (const endpoint of [brokerId, kafkaId])
            await call('POST', '/deliveries/replay', { endpoint, status: ['pending', 'failed'] });
          return pool.query("select status from deliveries where event = 'offer_saved' and status <> 'delivered'");
        },
        { timeout: timeLimit(60_000), interval: 1000 },
      )
      .toMatchObject({ rows: [] });

    // NATS has every message once, because it drops repeated ones. Kafka and the consumer got each event at least once.
    expect((await storedIds(nats)).sort()).toEqual(expected[brokerId]?.sort());
    expect([...new Set(pulled)].sort()).toEqual(expected[pullId]?.sort());
    const inKafka = kafka.records.map(({ headers }) => headers['webhook-id'] ?? '');
    expect([...new Set(inKafka)].sort()).toEqual(expected[kafkaId]?.sort());
    const counts = `${expected[pullId]?.length} events each, ${pulled.length} pulled, ${inKafka.length} in Kafka`;
    process.stdout.write(`${kills} kills: ${counts}\n`);
    await server.kill();
    await Promise.all([nats.close(), kafka.close()]);
    await close();
  },
);
