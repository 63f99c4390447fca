import { type Geo, nowhere, type Place } from './geo.ts';
import { createUserAgentReader, type UserAgent } from './user-agent.ts';

/** Place and device of an end user: what a request says about a client without identifying the user. */
export type ClientContext = Place & UserAgent;

type ClientFields = { ip: string; country: string | null; userAgent: string };

/**
 * Reads the context of a request's client. A given country takes precedence over the country of the address; region,
 * city and time zone of the address then apply only if they lie in the given country.
 */
export function createClientContextReader(geo: Geo): (fields: ClientFields) => ClientContext {
  const readUserAgent = createUserAgentReader();
  return ({ ip, country, userAgent }) => {
    const found = geo(ip);
    const place = country === null || found.country === country ? found : { ...nowhere, country };
    const { device, os, browser, platform } = readUserAgent(userAgent);
    const { region, city, postalCode, timeZone } = place;
    return { country: place.country, region, city, postalCode, timeZone, device, os, browser, platform };
  };
}
