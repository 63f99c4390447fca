/** Kinds of destinations other than HTTP. */
export const destinationKinds = ['pull', 'nats', 'kafka', 'sqs', 'eventbridge', 's3'] as const;
export type DestinationKind = (typeof destinationKinds)[number];

/** Placeholder URL of pull endpoints. */
export const pullUrl = 'pull://consumer';

/*
 * The flag `is_listener` is set for all destinations other than HTTP, so that workers of the previous release do not
 * claim their deliveries, and `listened_at` is in the infinite future, so that they do not remove the endpoints.
 */

/** SQL condition that is true if workers call endpoint `e`. */
export const isCalled = `(not e.is_listener or e.url ~ '^(nats|kafka|sqs|eventbridge|s3):')`;

/** SQL condition that is true if endpoint `e` is a listener of the command line. */
export const isListener = `(e.is_listener and e.url ~ '^https?:')`;

/** Returns the destination kind of an endpoint with this URL. */
export function kindOf(url: string): DestinationKind | 'http' {
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')));
  return destinationKinds.find((kind) => kind === scheme) ?? 'http';
}

/** Converts a destination's URL to an HTTP URL, so that the rules for webhook URLs can be applied. */
export function networkUrl(url: URL): URL {
  const scheme = url.searchParams.get('tls') === 'false' ? 'http' : 'https';
  return new URL(`${scheme}://${url.host}/`);
}

/** Returns the HTTP URLs of all servers of a destination. Kafka can have several, and all others have one. */
export const networkUrls = (url: URL): URL[] => [
  networkUrl(url),
  ...(url.searchParams.get('brokers')?.split(',') ?? []).map(
    (host) => new URL(`${networkUrl(url).protocol}//${host}/`),
  ),
];
