import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received webhook. */
type Receipt = { id: string; sessionId: string; endpoint: number; accepted: boolean; atMs: number };

export type ChaosReceiver = { urlOf: (endpoint: number) => string; receipts: Receipt[]; close: () => void };

/** Share of calls to one endpoint that are rejected, so that retries are tested as well. */
const refusedShare = 0.02;
const longestAnswerMs = 20;

/** Starts a publishers' webhook server that responds slowly, sometimes rejects calls, and logs all calls. */
export async function startChaosReceiver(draw: () => number): Promise<ChaosReceiver> {
  const receipts: Receipt[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { body } = JSON.parse(Buffer.concat(chunks).toString()) as { body: { session_id: string } };
      const accepted = draw() >= refusedShare;
      const receipt = {
        id: String(request.headers['webhook-id']),
        sessionId: body.session_id,
        endpoint: Number(request.url?.split('/').at(-1)),
        accepted,
        atMs: performance.now(),
      };
      receipts.push(receipt);
      setTimeout(() => response.writeHead(accepted ? 200 : 503).end(), draw() * longestAnswerMs);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (endpoint) => `http://127.0.0.1:${port}/hook/${endpoint}`,
    receipts,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
