import streams from '@eventstore/db-client/generated/streams_pb.js';

type SetBytes = (this: unknown, value: Uint8Array | string) => unknown;

let takesBytes = false;

/**
 * Makes the client pass bytes through. It would encode appended data as base64, which google-protobuf decodes character
 * by character, twice: half of the cost of an append.
 */
export const takeBytesForBase64 = (): void => {
  if (takesBytes) return;
  takesBytes = true;
  const prototype = streams.BatchAppendReq.ProposedMessage.prototype as unknown as Record<string, SetBytes>;
  for (const name of ['setData', 'setCustomMetadata']) {
    const set = prototype[name];
    if (!set) throw new Error(`the client of EventStoreDB has no ${name} any more`);
    prototype[name] = function (value) {
      return set.call(this, typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : value);
    };
  }
};
