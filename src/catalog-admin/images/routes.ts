import { Type } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { namesEtag } from '../../platform/http/etag.ts';
import { clientSubnet } from '../../platform/http/failure-limit.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { contentTypes, isImageType } from './accept.ts';
import { imageQuery, readImageQuery } from './parameters.ts';
import { createImages, type ImageDeps } from './service.ts';
import type { Source } from './transforms.ts';

const headers = {
  'cache-control': 'public, max-age=31536000, immutable',
  vary: 'Accept',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
};

/** Values of the `Cache-Status` header (RFC 9211), by source of the image bytes. */
const cacheStatus: Record<Source, string> = {
  hit: 'perkwire; hit',
  made: 'perkwire; fwd=miss; stored',
  collapsed: 'perkwire; fwd=miss; collapsed',
};

const answers = {
  200: {
    description: 'Image in the format that `Accept` prefers.',
    content: { 'image/*': { schema: Type.String({ format: 'binary' }) } },
  },
  304: { description: 'The cached image is current.' },
  ...errorAnswers(400, 404, 422),
};

/**
 * Registers `GET /images/{id}.{ext}`, which serves the image of a creative, resized and cropped as requested
 * (docs/reference/themes-and-rendering.md#images).
 */
export async function imageRoutes(app: App, deps: ImageDeps): Promise<void> {
  const images = await createImages(deps);
  const params = Type.Object({
    file: Type.String({ description: 'ID of the creative with a file extension, such as `12.png`.' }),
  });
  const schema = {
    operationId: 'getPicture',
    summary: 'Get the image of a creative',
    description:
      'Returns AVIF, WebP or the original format, depending on `Accept`. If only `width` or `height` is set, the ' +
      'aspect ratio is kept.',
    tags: ['Images'],
    security: [],
    params,
    querystring: imageQuery,
    response: answers,
  };
  app.get('/images/:file', { schema }, async (request, reply) => {
    const wish = readImageQuery(request.query);
    const [, id, type = ''] = /^(\d{1,9})\.([a-z]{3,4})$/.exec(request.params.file) ?? [];
    const client = { address: clientSubnet(request.ip), signal: request.signal };
    const image = isImageType(type) ? await images.find(Number(id), type, wish, request.headers.accept, client) : null;
    if (image === null) throw new AppError('not_found');
    const result = namesEtag(request.headers['if-none-match'], image.etag) ? null : await image.bytes();
    reply.headers({ ...headers, etag: image.etag });
    if (result === null) return reply.code(304).send();
    return reply
      .header('cache-status', cacheStatus[result.source])
      .type(contentTypes[image.type])
      .send(result.bytes as never);
  });
}
