import { type AdConfig, fetchOffers, type Offer, verifyWebhook } from '@perkwire/client';

/** Compiles only with the package's own types. Never called. */
export async function typesOfThePackage(request: Request): Promise<string[]> {
  const { data } = await fetchOffers({ baseUrl: '', sdkId: '', payload: { placement: 'checkout' } });
  const titles = data.offers.map((offer: Offer) => offer.title);
  const event = await verifyWebhook({ secret: '', headers: request.headers, body: await request.arrayBuffer() });
  if (event.type === 'usp.selection') titles.push(...event.payload.body.campaigns.map(({ title }) => title));
  // @ts-expect-error: a payload of a selection has no offer_id
  if (event.type === 'usp.selection') titles.push(String(event.payload.offer_id));
  const config: AdConfig = {
    callback: (name, payload) => {
      if (name === 'url_clicked') titles.push(payload.url);
      // @ts-expect-error: no such event
      if (name === 'clicked') titles.push(name);
    },
  };
  window.AdConfig = config;
  await window.Ad?.confirm();
  return titles;
}
