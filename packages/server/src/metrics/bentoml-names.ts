/** The batch-size histogram once more, under the names that dashboards made for BentoML look for. */
import { asPartOfName, BATCH_SIZE, type HistogramSnapshot, type MetricsSnapshot } from '@batchwise/metrics';

export function withBentomlNames(snapshot: MetricsSnapshot): MetricsSnapshot {
  const aliases = new Map<string, HistogramSnapshot>();
  for (const metric of snapshot) {
    if (metric.name !== BATCH_SIZE || metric.type !== 'histogram') continue;
    for (const series of metric.series) {
      const name = `BENTOML_${asPartOfName(series.labels[0] ?? '')}_predict_adaptive_batch_size`;
      // Runners whose names come to the same are told apart by the label.
      const others = aliases.get(name)?.series ?? [];
      aliases.set(name, { ...metric, name, series: [...others, series] });
    }
  }
  return [...snapshot, ...aliases.values()];
}
