export { ConfigError, type ConfigProblem, problemText } from './config/config-error.js';
export { type ConfigFile, readConfigFile } from './config/config-file.js';
export { CONFIG_FLAGS, type ConfigFlag, type ConfigFlags } from './config/config-flags.js';
export { type ConfigJson, configJson, configText } from './config/config-report.js';
export { byteSize as byteSizeKind } from './config/kinds/byte-size.js';
export { duration as durationKind, durationText } from './config/kinds/duration.js';
export { risingSizes as risingSizesKind } from './config/kinds/list-kinds.js';
export {
  milliseconds as millisecondsKind,
  wholeNumber as wholeNumberKind,
} from './config/kinds/number-kinds.js';
export {
  choice as choiceKind,
  filePath as filePathKind,
  isFitText,
  text as textKind,
  trueOrFalse as trueOrFalseKind,
} from './config/kinds/text-kinds.js';
export { type LoadConfigOptions, loadConfig } from './config/load-config.js';
export type { LoadedConfig } from './config/loaded-config.js';
export type {
  LimitSettings,
  ListenSettings,
  MetricsSettings,
  ModelSettings,
  RunnerOverrides,
  RunnersSettings,
  ServerSettings,
} from './config/server-settings.js';
export {
  accept as acceptSetting,
  type Complaint as SettingComplaint,
  describeValue,
  type Kind as SettingKind,
  type KindContext as SettingContext,
  type Verdict as SettingVerdict,
} from './config/setting-kind.js';
export type { Origin } from './config/setting-origin.js';
export { pathText } from './config/setting-path.js';
export { valueOfText } from './config/text-value.js';
export { YamlTree } from './config/yaml-tree.js';
export { type PythonReference, pythonReference } from './python-reference.js';
export {
  REQUEST_ERRORS,
  RequestError,
  type RequestErrorCode,
  type RequestErrorOptions,
} from './request-error.js';
export type { LoadSettings, RunningServer } from './running-server.js';
export { type ServeOptions, serve } from './serve.js';
export type { BoundModel, BoundRunner, BoundRunners } from './service/bound-runners.js';
export { defineService, type ServiceDefinition } from './service/define-service.js';
export { type FunctionOptions, fn } from './service/fn.js';
export { type FunctionThreadsOptions, functionThreads } from './service/function-threads.js';
export { loadService } from './service/load-service.js';
export { onnx } from './service/onnx.js';
export { type PythonOptions, python } from './service/python.js';
export type { AddRoute, RouteBuilder, RouteOptions } from './service/route-builder.js';
export type { PathParams, RouteContext } from './service/route-context.js';
export type {
  FunctionBatching,
  FunctionDeclaration,
  ModelDeclaration,
  RunnerDeclaration,
  RunnerDeclarations,
  UpstreamDeclaration,
} from './service/runner-declaration.js';
export type { DeclaredSettings, RunnerOptions } from './service/runner-options.js';
export type { Service, ServiceRoute } from './service/service.js';
export { upstream } from './service/upstream.js';
export type { WebAddress } from './web-server.js';
