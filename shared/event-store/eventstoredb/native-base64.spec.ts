import streams from '@eventstore/db-client/generated/streams_pb.js';
import { describe, expect, it } from '@jest/globals';
import { takeBytesForBase64 } from './native-base64.esdb.ts';

describe('an event for EventStoreDB', () => {
  it('holds bytes where the client gives base64, and what was meant is sent', () => {
    takeBytesForBase64();
    takeBytesForBase64();
    const text = JSON.stringify({ text: 'grüße 🏝'.repeat(100) });
    const base64 = Buffer.from(text).toString('base64');
    const message = new streams.BatchAppendReq.ProposedMessage().setData(base64).setCustomMetadata(base64);
    expect(message.getData()).toBeInstanceOf(Uint8Array);
    const sent = streams.BatchAppendReq.ProposedMessage.deserializeBinary(message.serializeBinary());
    for (const bytes of [sent.getData_asU8(), sent.getCustomMetadata_asU8()])
      expect(Buffer.from(bytes).toString()).toBe(text);
  });
});
