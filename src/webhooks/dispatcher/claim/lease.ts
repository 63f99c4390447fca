/** How much longer than its call a lease lasts (milliseconds): time to write down what came of it. */
export const leaseGraceMs = 10_000;
