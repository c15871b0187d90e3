import { brokerConnections, type BrokerConnection } from './kafkajs-internals.kafka.ts';

let isGuarded = false;

/**
 * Breaks a connection whose answers are not Kafka's. kafkajs 2.2.4 throws uncatchably at such an answer, so a port on
 * which another server listens would end the process.
 */
export const guardAnswers = (): void => {
  if (isGuarded) return;
  isGuarded = true;
  const { prototype } = brokerConnections;
  prototype.processData = breakingOnNonsense(prototype.processData);
};

const breakingOnNonsense = (read: BrokerConnection['processData']) =>
  function (this: BrokerConnection, received: Buffer): void {
    try {
      read.call(this, received);
    } catch (cause) {
      this.socket.destroy(new Error('the server there is not Kafka', { cause }));
    }
  };
