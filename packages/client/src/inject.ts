import { InvalidParameterError } from './errors.ts';
import { quote } from './escape.ts';
import { isRecord, parseJson } from './payload.ts';

/**
 * JavaScript for the checkout web view, to be run when the page has loaded: hands it a stored answer of fetch-offers
 * (object, or its JSON text) and shows the offers. It ends in `true`, which web view bridges ask for.
 * @throws InvalidParameterError when the answer is not a JSON object
 */
export function injectApiResponse(json: object | string): string {
  const answer = typeof json === 'string' ? parseJson(json) : json;
  if (!isRecord(answer)) throw new InvalidParameterError('json', 'must be a JSON object');
  const literal = `JSON.parse(${quote(JSON.stringify(answer))})`;
  return `Promise.resolve(Ad.setApiResponse(${literal})).then(function () { return Ad.reload(); }); true;`;
}
