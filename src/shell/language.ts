import type { FastifyRequest } from 'fastify';
import type { App } from '../platform/http/app.ts';
import type { ReaderLanguage } from '../platform/i18n/languages.ts';
import { browserTexts, t } from '../platform/i18n/messages.ts';
import { asReader, keepReaders, type Reader, readerOf } from '../platform/i18n/reader.ts';
import type { MemberRole } from './context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose language and locale the answer is written in. */
    reader: Reader;
    /** Ends that what the request starts is written for its reader, as the end of its answer does. */
    endReader: () => void;
  }
}

const acceptedBy = ({ headers }: FastifyRequest, { language }: { language: ReaderLanguage | null }): Reader =>
  readerOf(headers['accept-language'], language);

/**
 * Texts, dates and numbers of every page are the reader's. Registered before all other hooks, so that their errors are
 * too; and again after the body was read, because its events begin outside of the request's asynchronous context.
 */
export function registerLanguage(app: App): void {
  app.decorateRequest('reader');
  app.decorateRequest('endReader');
  app.addHook('onRequest', (request, reply, done) => {
    request.reader = acceptedBy(request, { language: null });
    request.endReader = keepReaders();
    reply.raw.once('close', request.endReader);
    reply.header('vary', 'accept-language');
    asReader(request.reader, done);
  });
  app.addHook('preValidation', (request, _reply, done) => asReader(request.reader, done));
}

/** What the user has set goes before what the browser accepts. */
export function useLanguageOf(request: FastifyRequest, user: { language: ReaderLanguage | null }): void {
  Object.assign(request.reader, acceptedBy(request, user));
}

export const roleName = (role: MemberRole): string => (typeof role === 'string' ? t(`roles.${role}`) : role.name);

/** The texts of our own scripts (`message` in dashboard.js), as JSON. */
export const browserMessages = (): string => JSON.stringify(browserTexts());
