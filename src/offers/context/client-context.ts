import { type Geo, nowhere, type Place } from './geo.ts';
import { createUserAgentReader, type UserAgent } from './user-agent.ts';

/** Where and with what an end user is: all a request tells without saying who it is. */
export type Surroundings = Place & UserAgent;

type Told = { ip: string; country: string | null; userAgent: string };

/**
 * Reads the surroundings of a request. A country that is given wins over that of the address; what the address says of
 * region, city and time zone then holds only if it is in that country.
 */
export function createSurroundings(geo: Geo): (told: Told) => Surroundings {
  const readUserAgent = createUserAgentReader();
  return ({ ip, country, userAgent }) => {
    const found = geo(ip);
    const place = country === null || found.country === country ? found : { ...nowhere, country };
    const { device, os, browser, platform } = readUserAgent(userAgent);
    const { region, city, postalCode, timeZone } = place;
    return { country: place.country, region, city, postalCode, timeZone, device, os, browser, platform };
  };
}
