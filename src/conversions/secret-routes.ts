import { Type } from '@sinclair/typebox';
import { createStoreGuard } from '../db/store-guard.ts';
import type { App, Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { callerOf } from '../http/auth.ts';
import { errorAnswers } from '../http/schemas.ts';
import { createConversionSecret } from './secret.ts';

const path = '/manage/v1/advertisers/:advertiser_id/conversion-secret';
const tags = ['Conversions'];
const params = Type.Object({ advertiser_id: Type.String() });
const created = Type.Object({
  message: Type.String(),
  data: Type.Object({ advertiser_id: Type.Integer(), secret: Type.String({ description: '`cs_…`; shown only in this answer.' }) }),
});
const removed = Type.Object({ message: Type.String(), data: Type.Object({ advertiser_id: Type.Integer() }) });

/** The secret with which an advertiser signs its reports. Where there is none, a click id is enough. */
export async function conversionSecretRoutes(app: App, { pool, pulse, auth, secretBox }: Deps): Promise<void> {
  const guarded = createStoreGuard(pulse);
  const preValidation = auth.requireKey('offers/management');

  /** Sets or clears the secret of one of the publisher's advertisers. @returns its id */
  async function save(publisherId: number, idText: string, sealed: Buffer | null): Promise<number> {
    const id = /^[1-9]\d{0,8}$/.test(idText) ? Number(idText) : 0;
    const { rowCount } = await guarded(() =>
      pool.query('update advertisers set conversion_secret_sealed = $3 where id = $1 and publisher_id = $2', [id, publisherId, sealed]),
    );
    if (rowCount === 0) throw new AppError('advertiser_not_found');
    return id;
  }

  const postSchema = {
    summary: 'Make a conversion secret',
    description: 'From then on every report of this advertiser must be signed with it. An earlier secret ends at once.',
    tags,
    params,
    response: { 201: created, ...errorAnswers(401, 403, 404) },
  };
  app.post(path, { schema: postSchema, preValidation }, async (request, reply) => {
    const { secret, sealed } = createConversionSecret(secretBox);
    const id = await save(callerOf(request).publisher.id, request.params.advertiser_id, sealed);
    reply.code(201).header('cache-control', 'no-store');
    return { message: 'Secret made.', data: { advertiser_id: id, secret } };
  });

  const deleteSchema = { summary: 'Remove a conversion secret', tags, params, response: { 200: removed, ...errorAnswers(401, 403, 404) } };
  app.delete(path, { schema: deleteSchema, preValidation }, async (request) => {
    const id = await save(callerOf(request).publisher.id, request.params.advertiser_id, null);
    return { message: 'Secret removed.', data: { advertiser_id: id } };
  });
}
