/** Sizes and lengths; the aims' are `STREAM_SOCKETS=10000 STREAM_CLIENTS=2000 STREAM_CROWD=10000 STREAM_SECONDS=60`. */
export const SOCKETS = Number(process.env['STREAM_SOCKETS'] ?? 2_000);
/** Of the parts in which clients are cut, and do not read. */
export const CLIENTS = Number(process.env['STREAM_CLIENTS'] ?? 400);
/** Clients that come back at once. */
export const CROWD = Number(process.env['STREAM_CROWD'] ?? 400);
/** Such as `fan-out,jitter`; all by default. */
export const PARTS = process.env['STREAM_PARTS']?.split(',');
export const SECONDS = Number(process.env['STREAM_SECONDS'] ?? 10);

export const subscribeTo = (contractAddress: string) => ({
  chainId: 2484,
  contractAddress,
  eventSignature: 'Transfer',
});
