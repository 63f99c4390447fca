import { type SealedColumn, sealedColumn } from '../platform/security/sealed-column.ts';
import { headerContext, secretContext, v1aContext } from './endpoints/secrets.ts';

const ofEndpoint = (column: string, context: string): SealedColumn =>
  sealedColumn({ table: 'webhook_endpoints', column, key: ['id'], context: () => context });

/** The values of the endpoints' own headers; a key is endpoint and name. */
const headers: SealedColumn = {
  name: 'webhook_endpoints.headers',
  context: ([, name]) => headerContext(String(name)),
  read: async (executor, after, limit) => {
    const { rows } = await executor.query<{ id: number; name: string; value: string }>(
      `select e.id, h.key as name, h.value from webhook_endpoints e, jsonb_each_text(e.headers) h
      where $2::integer is null or (e.id, h.key collate "C") > ($2::integer, $3::text)
      order by e.id, h.key collate "C" limit $1`,
      [limit, ...(after ?? [null, null])],
    );
    return rows.map(({ id, name, value }) => ({ key: [id, name], sealed: Buffer.from(value, 'base64') }));
  },
  replace: async (executor, [id, name], from, to) => {
    await executor.query(
      `update webhook_endpoints set headers = jsonb_set(headers, array[$2::text], to_jsonb($4::text))
      where id = $1 and headers ->> $2::text = $3`,
      [id, name, from.toString('base64'), to.toString('base64')],
    );
  },
};

/** What endpoints keep sealed: secrets, keys and headers. */
export const sealedEndpointColumns: readonly SealedColumn[] = [
  ofEndpoint('secret_sealed', secretContext),
  ofEndpoint('previous_secret_sealed', secretContext),
  ofEndpoint('v1a_key_sealed', v1aContext),
  ofEndpoint('previous_v1a_key_sealed', v1aContext),
  headers,
];
