import { Counter } from 'prom-client';
import type { Accounts } from '../accounts/module.ts';
import type { AlertCheck } from '../alerts/kinds.ts';
import type { Alerts } from '../alerts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { Coupons } from '../coupons/module.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { Perks } from '../perks/module.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import { readUuid, writeUuid } from '../platform/lib/uuid7.ts';
import type { Platform } from '../platform/module.ts';
import { createSigner, macLength, type Signer } from '../platform/security/tracking-token.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import type { Webhooks } from '../webhooks/module.ts';
import type { Reader } from './addresses.ts';
import { messageCommands } from './commands.ts';
import { perkMessage } from './event-types.ts';
import { feedbackRoutes } from './feedback/routes.ts';
import { createMessageOutbox, createReaderKeys } from './outbox.ts';
import { messagePages } from './pages/messages.ts';
import { readerRoutes } from './reader-routes.ts';
import { messageRoutes } from './routes.ts';
import { sendDueMessages } from './send.ts';
import { mayKeepAddresses } from './settings.ts';
import { findRefusedMessages, keepMs } from './store.ts';
import { suppressionRoutes } from './suppression-routes.ts';
import { applyMessageRetention, eraseMessagesOfSessions, eraseMessagesOfUser, exportMessages } from './user-data.ts';

type MessagesDeps = {
  platform: Platform;
  catalog: Catalog;
  accounts: Accounts;
  webhooks: Webhooks;
  coupons: Coupons;
  alerts: Alerts;
  perks: Perks;
};

/** Creates the messages module, which sends the e-mails that users request about perks that they confirmed or saved. */
export function createMessages({ platform, catalog, perks }: MessagesDeps) {
  const { deps } = platform;
  const tokensOf = (purpose: string) => createReaderTokens(createSigner(deps.config.tokenKeys, purpose));
  const sendDeps = {
    ...deps,
    catalog: catalog.store,
    readerKeys: createReaderKeys(deps.config),
    refusals: new Counter({
      name: 'perkwire_perk_message_refusals_total',
      help: 'Number of failed attempts to send perk messages, by reason.',
      labelNames: ['refusal'] as const,
      registers: [deps.metrics.registry],
    }),
    unsubscribeTokens: tokensOf('message-unsubscribe'),
    confirmTokens: tokensOf('message-confirm'),
  };
  const sending: Job = {
    name: 'perk messages',
    roles: ['worker'],
    pauseMs: 1000,
    locks:
      'a lease on the message (skip locked); an advisory lock of the address while it is counted; ' +
      'rows of message_confirmations; then as all webhooks',
    run: () => sendDueMessages({ ...sendDeps, findSavedPerk: perks.findSavedPerk }),
  };
  return {
    name: 'messages',
    rank: 140,
    commands: messageCommands,
    eventTypes: [perkMessage],
    navigation,
    perkMessages: createMessageOutbox(deps),
    addressRetention: { keepMs, mayKeepAddresses },
    alertChecks: [messageCheck],
    retention: applyMessageRetention,
    userData: {
      eraseWithSessions: eraseMessagesOfSessions,
      eraseOfUser: [eraseMessagesOfUser(sendDeps.readerKeys)],
      exports: { perk_messages: exportMessages(sendDeps.readerKeys) },
    },
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(messageRoutes, { http, deps: sendDeps });
      await app.register(suppressionRoutes, { http, readerKeys: sendDeps.readerKeys });
      await app.register(readerRoutes, sendDeps);
      await app.register(feedbackRoutes, sendDeps);
    },
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) =>
      messagePages(app, { ...shell, management, deps: sendDeps }),
    jobs: () => [sending],
  };
}

const navigation: readonly NavEntry[] = [
  {
    group: 'settings',
    rank: 32,
    key: 'perk-messages',
    text: 'messages.title',
    words: 'navWords.messages',
    path: '/settings/perk-messages',
    icon: 'mail',
    role: 'analyst',
  },
];

const version = 1;
const dataLength = 22;
const pattern = /^[A-Za-z0-9_-]{51}$/;

/**
 * Creates the tokens for links in e-mails, which do not expire. Layout: 0 version · 1 key ID · 2–5 publisher · 6–21
 * address key · 22–37 HMAC.
 */
function createReaderTokens(signer: Signer) {
  return {
    mint: ({ publisherId, addressKey }: Reader): string => {
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = version;
      bytes[1] = signer.keyId;
      bytes.writeUInt32BE(publisherId, 2);
      writeUuid(addressKey, bytes, 6);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return bytes.toString('base64url');
    },
    read: (token: unknown): Reader | null => {
      if (typeof token !== 'string' || !pattern.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      if (bytes[0] !== version || bytes.toString('base64url') !== token) return null;
      if (!signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))) return null;
      return { publisherId: bytes.readUInt32BE(2), addressKey: readUuid(bytes, 6) };
    },
  };
}

/**
 * Alert check for perk messages that are pending or failed because of the mail server or because of the sender. It
 * reports one fact per publisher until the messages are sent or abandoned.
 */
export const messageCheck: AlertCheck = {
  name: 'message alerts',
  kinds: ['messages.refused'],
  findFacts: async (executor, nowMs) =>
    (await findRefusedMessages(executor)).map(({ publisherId, count, since, refusal, reply }) => ({
      publisherId,
      kind: 'messages.refused',
      subject: 'mail server',
      cause: new Date(nowMs).toISOString(),
      data: { count, since: since.toISOString(), refusal, reply },
    })),
};
