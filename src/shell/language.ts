import type { FastifyRequest } from 'fastify';
import type { App } from '../platform/http/app.ts';
import type { ReaderLanguage } from '../platform/i18n/languages.ts';
import { browserTexts, t } from '../platform/i18n/messages.ts';
import { asReader, keepReaders, type Reader, readerOf } from '../platform/i18n/reader.ts';
import type { MemberRole } from './context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Reader whose language and locale the response uses. */
    reader: Reader;
    /** Ends the reader for work that the request started, as the end of its response does. */
    endReader: () => void;
  }
}

const acceptedBy = ({ headers }: FastifyRequest, { language }: { language: ReaderLanguage | null }): Reader =>
  readerOf(headers['accept-language'], language);

/**
 * Makes texts, dates and numbers of every page those of the reader. Registered before all other hooks, so that their
 * errors are included, and again after the body was read, because its events begin outside of the request's
 * asynchronous context.
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

/** Applies the user's language, which takes precedence over the browser's. */
export function useLanguageOf(request: FastifyRequest, user: { language: ReaderLanguage | null }): void {
  Object.assign(request.reader, acceptedBy(request, user));
}

export const roleName = (role: MemberRole): string => (typeof role === 'string' ? t(`roles.${role}`) : role.name);

/** Texts of our own scripts (`message` in dashboard.js), as JSON. */
export const browserMessages = (): string => JSON.stringify(browserTexts());
