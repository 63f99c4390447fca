import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type pg from 'pg';
import type { CatalogStore } from '../catalog/snapshot/store.ts';
import type { Config } from '../config.ts';
import type { Geo } from '../offers/context/geo.ts';
import type { Sender } from '../webhooks/dispatcher/send/deliver.ts';
import type { DatabaseHealth } from './db/health.ts';
import type { Authenticator } from './http/auth.ts';
import type { FailureLimit } from './http/failure-limit.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { SecretBox } from './security/secret-box.ts';
import type { TokenCodec } from './security/tracking-token.ts';

/** What every feature may use. */
export type Deps = {
  config: Config;
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  logger: Logger;
  auth: Authenticator;
  failures: FailureLimit;
  geo: Geo;
  tokens: TokenCodec;
  secretBox: SecretBox;
  /** What this process measures; null where nobody may see it. */
  metrics: Metrics | null;
  /** Calls publishers' servers. */
  sender: Sender;
  /** Clock, epoch milliseconds. */
  now: () => number;
};

/** Fastify with TypeBox types. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression<RawServerDefault>,
  RawReplyDefaultExpression<RawServerDefault>,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;
