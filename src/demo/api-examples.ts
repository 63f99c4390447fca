import type { PlatformDeps } from '../platform/ports.ts';
import { createSigner } from '../platform/security/keyring.ts';
import type { LiveExamples } from '../reference/live-examples.ts';
import { createPayloadLinks, payloadLinkPurpose } from '../webhooks/payload-link.ts';
import { demoOperatorKey, embeddedDemoIds } from './catalogue.ts';

/** What the examples of the API reference are made of in the demo. */
export function demoExamples({ config, now }: Pick<PlatformDeps, 'config' | 'now'>): LiveExamples {
  const links = createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl);
  return {
    keys: { bearer: embeddedDemoIds.key, operator: demoOperatorKey },
    filters: {
      payloadToken: (deliveryId) => new URL(links.url(deliveryId, now())).searchParams.get('t') ?? '',
    },
    now,
  };
}
