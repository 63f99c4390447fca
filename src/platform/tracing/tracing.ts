type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An operation of a trace that others can be part of. Times are those of `performance.now()`. */
export type Trace = {
  /** Names it as the parent, as the header of W3C Trace Context does. */
  traceparent: string;
  /** Adds a part that has ended. */
  child: (name: string, startMs: number, endMs: number, attributes?: Attributes) => void;
};

/** An operation that has not ended. */
export type Span = Trace & {
  /** @param failure what went wrong; absent: nothing */
  end: (attributes: Attributes, failure?: string | null) => void;
};

/** Traces of OpenTelemetry (docs/operations.md#traces). */
export type Tracing = {
  /** false: nothing is traced, and no context is passed on. */
  isOn: boolean;
  /**
   * Begins an operation; null: it is not sampled, and there is no context to pass on.
   * @param traceparent the header that the caller sent, or what is stored of it
   */
  start: (name: string, kind: 'server' | 'client', traceparent: string | null) => Span | null;
  /** Sends what is not sent yet. */
  close: () => Promise<void>;
};

export const noTracing: Tracing = { isOn: false, start: () => null, close: async () => {} };
