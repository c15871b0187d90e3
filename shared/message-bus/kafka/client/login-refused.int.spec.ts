import { expect, it } from '@jest/globals';
import { startSaslRefusingBroker } from '../../../testing/engines/sasl-refusing-broker.ts';
import { connectForTests, kafkaSettings } from '../../../testing/engines/test-bus.kafka.ts';

const PASSWORD = 'h5Qw-hush-9';

it('a login that Kafka refuses stops the start with the name of its setting, without the password', async () => {
  const broker = await startSaslRefusingBroker();
  try {
    const KAFKA_SASL = { mechanism: 'plain', username: 'annals', password: PASSWORD } as const;
    const error: unknown = await connectForTests({ ...kafkaSettings(broker.address), KAFKA_SASL }).catch(
      (caught: unknown) => caught,
    );
    expect(String(error)).toContain(
      `KAFKA_SASL: ${broker.address} refuses the login of annals (SASL PLAIN authentication failed: ` +
        'Authentication failed: Invalid username or password)',
    );
    expect(String(error)).not.toContain(PASSWORD);
  } finally {
    broker.close();
  }
});
