import { Type } from '@sinclair/typebox';
import type { App, Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { errorAnswers } from '../http/schemas.ts';

const contentTypes: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
};

/** `GET /images/{id}.{ext}`: the original of a creative. Its bytes never change under one id. */
export async function imageRoutes(app: App, { pool }: Deps): Promise<void> {
  app.get(
    '/images/:file',
    {
      schema: {
        summary: 'Picture of a creative',
        tags: ['Images'],
        params: Type.Object({ file: Type.String() }),
        response: errorAnswers(404),
      },
    },
    async (request, reply) => {
      const match = /^(\d{1,9})\.(png|jpg|webp|gif|avif)$/.exec(request.params.file);
      if (match === null) throw new AppError('not_found');
      const { rows } = await pool.query<{ bytes: Buffer; sha256: string; type: string }>({
        name: 'load_image',
        text: `select i.bytes, encode(i.sha256, 'hex') as sha256, c.type from creative_images i join creatives c on c.id = i.creative_id where c.id = $1 and c.type = $2`,
        values: [Number(match[1]), match[2]],
      });
      const [image] = rows;
      if (image === undefined) throw new AppError('not_found');
      const etag = `"${image.sha256.slice(0, 32)}"`;
      reply.headers({
        etag,
        'cache-control': 'public, max-age=31536000, immutable',
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
      });
      if (request.headers['if-none-match'] === etag) return reply.code(304).send();
      return reply.type(contentTypes[image.type] as string).send(image.bytes as never);
    },
  );
}
