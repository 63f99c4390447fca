import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { request } from 'undici';

/**
 * Baseline server for all figures: bare Fastify routes that parse the same bodies and return the same bytes, but store
 * nothing. Arguments: port, file with the offers response, file with the image, file with a longer offers response.
 */
const [port, offersFile, imageFile, moreOffersFile] = process.argv.slice(2);
const offers = readFileSync(offersFile as string, 'utf8');
const moreOffers = readFileSync(moreOffersFile as string, 'utf8');
const image = readFileSync(imageFile as string);

const app = Fastify();
app.post('/offers', async (_request, reply) => reply.type('application/json; charset=utf-8').send(offers));
app.post('/more-offers', async (_request, reply) => reply.type('application/json; charset=utf-8').send(moreOffers));
app.get('/beacon', async (_request, reply) => reply.type('image/png').header('cache-control', 'no-store').send(image));
app.post<{ Querystring: { to: string } }>('/forward', async (incoming, reply) => {
  void request(incoming.query.to, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: offers,
  }).then((answer) => answer.body.dump());
  return reply.send({ message: 'ok' });
});
await app.listen({ port: Number(port), host: '127.0.0.1' });
process.send?.('ready');
