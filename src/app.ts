import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import { type TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type RawReplyDefaultExpression, type RawRequestDefaultExpression, type RawServerDefault } from 'fastify';
import type pg from 'pg';
import type { CatalogStore } from './catalog/store.ts';
import type { Config } from './config.ts';
import type { Pulse } from './db/pulse.ts';
import { createAuthenticator, type Authenticator } from './http/auth.ts';
import type { Logger } from './logger.ts';
import type { TokenCodec } from './tracking/token.ts';
void TypeBoxValidatorCompiler;

/** What every feature may use. Features take it as their plugin options. */
export type Deps = {
  config: Config;
  pool: pg.Pool;
  pulse: Pulse;
  catalog: CatalogStore;
  logger: Logger;
  auth: Authenticator;
  tokens: TokenCodec;
  /** Clock, epoch milliseconds. */
  now: () => number;
};

export type App = FastifyInstance<RawServerDefault, RawRequestDefaultExpression<RawServerDefault>, RawReplyDefaultExpression<RawServerDefault>, FastifyBaseLogger, TypeBoxTypeProvider>;
void Fastify; void createAuthenticator;
