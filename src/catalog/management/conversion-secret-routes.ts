import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import type { CatalogDeps } from '../ports.ts';
import { advertisers } from './advertisers.ts';
import { audit } from './audit.ts';
import { createConversionSecret } from './conversion-secret.ts';
import { callOf, publisherQuery } from './http.ts';
import { refuseFields } from './strict-body.ts';
import type { Work } from './unit-of-work.ts';

const path = '/manage/v1/advertisers/:advertiser_id/conversion-secret';
const tags = ['Conversions'];
const params = Type.Object({ advertiser_id: Type.String() });
const created = Type.Object({
  message: Type.String(),
  data: Type.Object({
    advertiser_id: Type.Integer(),
    secret: Type.String({ description: '`cs_…`; shown only in this answer.' }),
  }),
});
const removed = Type.Object({ message: Type.String(), data: Type.Object({ advertiser_id: Type.Integer() }) });

/** The secret that an advertiser signs its reports with. Without one, a click id is enough. */
export async function conversionSecretRoutes(
  app: App,
  { pool, dbHealth, auth, secretBox, now }: CatalogDeps,
): Promise<void> {
  const guarded = createFailFast(dbHealth);
  const preValidation = [auth.requireKey('offers/management', 'accounts'), refuseFields];

  /** Sets or clears the secret of one of the caller's advertisers. @returns its id */
  async function save(
    request: FastifyRequest<{ Params: Static<typeof params> }>,
    sealed: Buffer | null,
  ): Promise<number> {
    const { actor, publisherId } = callOf(request);
    const by = { actor, publisherId, nowMs: now() };
    const idText = request.params.advertiser_id;
    const id = /^[1-9]\d{0,8}$/.test(idText) ? Number(idText) : 0;
    await guarded(() => transaction(pool, (executor) => saveSecret({ ...by, executor }, id, sealed)));
    return id;
  }

  const postSchema = {
    operationId: 'createConversionSecret',
    summary: 'Create a conversion secret',
    description:
      'From then on every report of this advertiser must be signed with it. An earlier secret is invalid at once.',
    tags,
    params,
    querystring: publisherQuery,
    response: { 201: created, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post(path, { schema: postSchema, preValidation }, async (request, reply) => {
    const { secret, sealed } = createConversionSecret(secretBox);
    const id = await save(request, sealed);
    reply.code(201).header('cache-control', 'no-store');
    return { message: 'Secret created.', data: { advertiser_id: id, secret } };
  });

  const response = { 200: removed, ...errorAnswers(400, 401, 403, 404) };
  const deleteSchema = {
    operationId: 'removeConversionSecret',
    summary: 'Remove a conversion secret',
    tags,
    params,
    querystring: publisherQuery,
    response,
  };
  app.delete(path, { schema: deleteSchema, preValidation }, async (request) => {
    const id = await save(request, null);
    return { message: 'Secret removed.', data: { advertiser_id: id } };
  });
}

/** The audit log shows whether there is a secret, never its value. @throws AppError `advertiser_not_found` */
async function saveSecret(work: Work, id: number, sealed: Buffer | null): Promise<void> {
  const { executor, publisherId } = work;
  const { rows } = await executor.query<{ had_secret: boolean }>(
    `select conversion_secret_sealed is not null as had_secret from advertisers
    where id = $1 and publisher_id = $2 for update`,
    [id, publisherId],
  );
  if (rows[0] === undefined) throw new AppError('advertiser_not_found');
  const { had_secret: hadSecret } = rows[0];
  if (!hadSecret && sealed === null) return;
  await executor.query('update advertisers set conversion_secret_sealed = $3 where id = $1 and publisher_id = $2', [
    id,
    publisherId,
    sealed,
  ]);
  await audit(work, {
    resource: advertisers,
    action: 'update',
    before: { id, conversion_secret: hadSecret ? 'set' : null },
    after: { id, conversion_secret: sealed === null ? null : hadSecret ? 'changed' : 'set' },
  });
}
