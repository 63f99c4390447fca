import { InvalidParameterError } from './errors.ts';
import { quote } from './escape.ts';
import { isRecord, parseJson } from './payload.ts';

/**
 * JavaScript to run in the checkout web view when the page has loaded: passes a stored response of fetch-offers (object
 * or JSON text) to the SDK and shows the offers. Its last value is `true`, as web view bridges require.
 * @throws InvalidParameterError when the response is not a JSON object
 */
export function injectApiResponse(json: object | string): string {
  const response = typeof json === 'string' ? parseJson(json) : json;
  if (!isRecord(response)) throw new InvalidParameterError('json', 'must be a JSON object');
  const literal = `JSON.parse(${quote(JSON.stringify(response))})`;
  return `Promise.resolve(Ad.setApiResponse(${literal})).then(function () { return Ad.reload(); }); true;`;
}
