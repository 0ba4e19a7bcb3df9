// What the report needs of Apache ECharts: all its marks are drawn by one custom series.
import { init, use, version } from 'echarts/core';
import { CustomChart } from 'echarts/charts';
import { DataZoomComponent, GridComponent } from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';

use([CustomChart, DataZoomComponent, GridComponent, CanvasRenderer]);

export { init, version };
